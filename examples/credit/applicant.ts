/** Who applies for a credit, and the features that the model sees of an applicant. */
import { z } from 'zod';

const HOMES = ['owner', 'rent', 'parents', 'other'] as const;
const MARITAL = ['single', 'married', 'other'] as const;
const JOBS = ['fixed', 'part-time', 'freelance', 'other'] as const;

export const Applicant = z
  .object({
    /** Years in the current job. */
    seniority: z.number().min(0).max(60),
    home: z.enum(HOMES),
    /** Months of the credit. */
    time: z.int().min(6).max(72),
    age: z.int().min(18).max(100),
    marital: z.enum(MARITAL),
    /** Whether earlier credits were not paid back. */
    records: z.boolean(),
    job: z.enum(JOBS),
    expenses: z.number().min(0),
    income: z.number().min(0),
    assets: z.number().min(0),
    debt: z.number().min(0),
    amount: z.number().positive(),
    price: z.number().positive(),
  })
  .meta({
    examples: [
      {
        seniority: 3,
        home: 'owner',
        time: 36,
        age: 26,
        marital: 'single',
        records: false,
        job: 'freelance',
        expenses: 35,
        income: 120,
        assets: 6000,
        debt: 3000,
        amount: 800,
        price: 1000,
      },
    ],
  });

export type Applicant = z.infer<typeof Applicant>;

/** Numbers scaled to about -2 to 2, then a 1 for the value of each category. */
export function featuresOf(applicant: Applicant): number[] {
  const { seniority, home, time, age, marital, records, job, expenses, income, assets, debt, amount, price } =
    applicant;
  return [
    (seniority - 8) / 8,
    (time - 46) / 15,
    (age - 37) / 11,
    (expenses - 55) / 20,
    (income - 140) / 80,
    (assets - 5000) / 8000,
    (debt - 350) / 1000,
    (amount - 1000) / 470,
    (price - 1400) / 630,
    amount / price,
    records ? 1 : 0,
    ...oneHot(HOMES, home),
    ...oneHot(MARITAL, marital),
    ...oneHot(JOBS, job),
  ];
}

function oneHot<T>(values: readonly T[], value: T): number[] {
  return values.map((one) => (one === value ? 1 : 0));
}

/** @param random from 0 up to, but not including, 1 */
export function randomApplicant(random: () => number): Applicant {
  const between = (min: number, max: number) => Math.round(min + random() * (max - min));
  const oneOf = <T>(values: readonly [T, ...T[]]) =>
    values[Math.floor(random() * values.length)] ?? values[0];
  const price = between(300, 3000);
  return {
    seniority: between(0, 30),
    home: oneOf(HOMES),
    time: between(6, 72),
    age: between(18, 70),
    marital: oneOf(MARITAL),
    records: random() < 0.2,
    job: oneOf(JOBS),
    expenses: between(35, 100),
    income: between(0, 400),
    assets: between(0, 20_000),
    debt: between(0, 3000),
    amount: Math.max(100, Math.round(price * (0.3 + 0.7 * random()))),
    price,
  };
}

/** The rule that the model learns: the logarithm of the odds that the credit is not paid back. */
export function logOddsOfDefault({
  seniority,
  home,
  records,
  job,
  income,
  assets,
  debt,
  amount,
  price,
}: Applicant): number {
  return (
    -0.8 +
    (records ? 2 : 0) +
    { fixed: -0.4, 'part-time': 0.9, freelance: 0.3, other: 0.5 }[job] +
    (home === 'owner' ? -0.6 : 0) -
    0.06 * seniority -
    0.008 * (income - 140) -
    0.00005 * assets +
    0.0003 * debt +
    2 * (amount / price - 0.7)
  );
}
