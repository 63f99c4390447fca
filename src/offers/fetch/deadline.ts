/**
 * An answer due in 1,000 ms is given up at 980, one due in 10 ms at 8: the rest goes to writing and sending
 * (milliseconds).
 */
const marginMs = (timeoutMs: number): number => Math.min(20, timeoutMs / 5);

type Late<Answer> = {
  /** What is answered instead. */
  late: () => Answer;
  /** Takes an answer that came too late to be used. */
  release: (answer: Answer) => void;
};

/** The answer if it comes in time, else what `late` gives. A failure in time stays one. */
export function within<Answer>(
  timeoutMs: number,
  answered: Promise<Answer>,
  { late, release }: Late<Answer>,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      answered.then(release, () => {});
      resolve(late());
    }, timeoutMs - marginMs(timeoutMs));
    answered.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
