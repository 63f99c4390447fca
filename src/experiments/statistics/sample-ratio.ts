/** Odds against the shares from which on users must have been lost (1 in 1,000 false alarms, over all looks). */
const alarmOdds = 1000;

/** How many users the priors count for: shares that are wrong by about 2 %, and by about 0.2 %. */
const priors = [600, 60_000];

/**
 * Whether users were lost or counted twice in some arms: a sequential test of the shares (Lindon and Malek, "Anytime
 * valid inference for multinomial count data", 2022). The odds of the counts under any shares near the planned ones, by
 * their odds under those, exceed 1,000 with probability below 0.001, however often one looks.
 * @param arms counted users, and the planned share of each among them
 */
export function sampleRatio(arms: readonly { users: number; share: number }[]): { odds: number; isWrong: boolean } {
  const planned = arms.filter(({ share }) => share > 0);
  const shares = planned.reduce((sum, { share }) => sum + share, 0);
  const total = planned.reduce((sum, { users }) => sum + users, 0);
  if (planned.length < 2 || total === 0) return { odds: 1, isWrong: false };
  const oddsOf = (prior: number): number => {
    let logOdds = logGamma(prior) - logGamma(prior + total);
    for (const { users, share } of planned) {
      const part = share / shares;
      logOdds += logGamma(prior * part + users) - logGamma(prior * part) - users * Math.log(part);
    }
    return Math.exp(Math.min(700, logOdds));
  };
  const odds = priors.reduce((sum, prior) => sum + oddsOf(prior), 0) / priors.length;
  return { odds, isWrong: odds >= alarmOdds };
}

/** The logarithm of the gamma function (Stirling's series; error below 1e-10 from 10 on, and lifted up to there). */
function logGamma(value: number): number {
  let x = value;
  let shift = 0;
  for (; x < 10; x += 1) shift -= Math.log(x);
  const inverse = 1 / (x * x);
  const series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / x;
  return shift + (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series;
}
