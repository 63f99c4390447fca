/** Part of a deadline that is left for writing and sending the answer (milliseconds). */
const marginMs = (timeoutMs: number): number => Math.min(20, timeoutMs / 5);

/** The answer if it is there in time, else what `late` gives. A failure in time stays one. */
export function withinDeadline<Answer>(
  timeoutMs: number,
  answer: Promise<Answer>,
  late: () => Answer,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(late()), timeoutMs - marginMs(timeoutMs));
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
