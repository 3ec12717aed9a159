/** How many may come within some time, with which chance: a few cases that stand for all of them. */
export interface ArrivalOutcomes {
  readonly arrived: readonly number[];
  readonly chance: readonly number[];
}

/** Up to this many expected, every number has a case of its own. */
const FEW = 4;
/** So small a chance is none. */
const NO_CHANCE = 1e-3;

/** For arrivals that know nothing of each other (Poisson), of which `mean` are expected. */
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

/** The mean and two others, which have together the mean, the variance and the shape of a normal distribution. */
function threeCases(mean: number): ArrivalOutcomes {
  const away = Math.sqrt(3 * mean);
  return { arrived: [mean - away, mean, mean + away], chance: [1 / 6, 2 / 3, 1 / 6] };
}
