/** Memory for answers, used again once they are sent. */
export type AnswerPool = {
  /** A buffer of this length (bytes), which may hold bytes of earlier answers: all of it has to be written. */
  take: (length: number) => Buffer;
  /** Takes the memory of a sent answer back; nobody may read the answer from then on. */
  release: (answer: Buffer) => void;
};

const slotBytes = 64 * 1024;
/** Slots that are kept while nobody uses them (count). */
const maxFreeSlots = 128;

/**
 * An answer is about 25 kB, outside of the JavaScript heap. V8 counts such memory, and collects the whole heap whenever
 * it has grown by some MB: with 1,000 offers and 2,000 fetches/s three times a second
 * (docs/adr/0014-memory-of-sent-answers.md). An answer that is not released is collected like any other buffer.
 */
export function createAnswerPool(): AnswerPool {
  const free: ArrayBuffer[] = [];
  return {
    take: (length) =>
      length > slotBytes
        ? Buffer.allocUnsafe(length)
        : Buffer.from(free.pop() ?? new ArrayBuffer(slotBytes), 0, length),
    release: ({ buffer }) => {
      if (buffer.byteLength === slotBytes && free.length < maxFreeSlots) free.push(buffer as ArrayBuffer);
    },
  };
}
