/** Batches under way, which take their items in the order in which these were added. */
export type UnderWay<Batch> = {
  count: () => number;
  batches: () => Iterable<Batch>;
  add: (batch: Batch, items: number) => void;
  /** Whether written or failed; repeats do nothing. */
  end: (batch: Batch) => void;
  /** Resolves when all batches under way have ended, and those that take so many further items. */
  written: (waitingItems: number) => Promise<void>;
  /** Resolves what `written` has promised: the items that were waiting will not be taken. */
  giveUp: () => void;
};

export function createUnderWay<Batch>(): UnderWay<Batch> {
  /** The number of their first item, counted from the start. */
  const firsts = new Map<Batch, number>();
  let taken = 0;
  let waits: { upTo: number; resolve: () => void }[] = [];

  const isOver = ({ upTo }: { upTo: number }): boolean =>
    taken >= upTo && [...firsts.values()].every((first) => first >= upTo);

  return {
    count: () => firsts.size,
    batches: () => firsts.keys(),
    add: (batch, items) => {
      firsts.set(batch, taken);
      taken += items;
    },
    end: (batch) => {
      firsts.delete(batch);
      if (waits.length === 0) return;
      for (const { resolve } of waits.filter(isOver)) resolve();
      waits = waits.filter((wait) => !isOver(wait));
    },
    written: (waitingItems) => new Promise((resolve) => waits.push({ upTo: taken + waitingItems, resolve })),
    giveUp: () => {
      for (const { resolve } of waits.splice(0)) resolve();
    },
  };
}
