/** The number of arrivals within some time as a few cases with their probabilities. */
export interface ArrivalOutcomes {
  readonly arrived: readonly number[];
  readonly chance: readonly number[];
}

/** Expected arrivals up to which every number is a case of its own. */
const FEW = 4;
/** The probability below which further cases are left out. */
const NO_CHANCE = 1e-3;

/** Of a Poisson distribution. */
export function arrivalOutcomes(mean: number): ArrivalOutcomes {
  return mean <= FEW ? eachNumber(mean) : threeCases(mean);
}

function eachNumber(mean: number): ArrivalOutcomes {
  const arrived: number[] = [];
  const chance: number[] = [];
  let one = Math.exp(-mean);
  let sum = 0;
  for (let number = 0; 1 - sum > NO_CHANCE; number++) {
    arrived.push(number);
    chance.push(one);
    sum += one;
    one *= mean / (number + 1);
  }
  return { arrived, chance: chance.map((part) => part / sum) };
}

/** Three cases with the first moments of a normal distribution (Gauss-Hermite). */
function threeCases(mean: number): ArrivalOutcomes {
  const away = Math.sqrt(3 * mean);
  return { arrived: [mean - away, mean, mean + away], chance: [1 / 6, 2 / 3, 1 / 6] };
}
