import type { Logger } from '../platform/logger.ts';

/** Running parts of a process. They are stopped in the reverse order of their start. */
export type Parts = {
  add: (name: string, stop: () => Promise<unknown>) => void;
  stopAll: () => Promise<void>;
};

export function createParts(logger: Logger): Parts {
  const parts: { name: string; stop: () => Promise<unknown> }[] = [];
  return {
    add: (name, stop) => void parts.push({ name, stop }),
    stopAll: async () => {
      for (const { name, stop } of parts.splice(0).reverse()) {
        await stop().catch((err) => logger.error({ err, part: name }, 'stopping component failed'));
        logger.debug({ part: name }, 'component stopped');
      }
    },
  };
}
