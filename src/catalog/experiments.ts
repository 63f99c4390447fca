/** Users are spread over this many slots. */
export const experimentSlots = 10_000;

/** Name of the arm that is held out. */
export const holdoutArm = 'holdout';

/** The arm that changes nothing: the one named `control`, else the first; null: none does. */
export function controlOf(arms: readonly { key: string; changes: object }[]): string | null {
  const plain = arms.filter(({ changes }) => Object.keys(changes).length === 0);
  return (plain.find(({ key }) => key === 'control') ?? plain[0])?.key ?? null;
}
