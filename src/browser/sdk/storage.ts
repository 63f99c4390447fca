/** Web storage that may be blocked, full or changed by others: then there is nothing in it. */
export type Store = {
  read: (key: string) => unknown;
  write: (key: string, value: unknown) => void;
  remove: (key: string) => void;
};

const prefix = 'perkwire:';

function storeOf(area: () => Storage): Store {
  const attempt = <Value>(work: () => Value): Value | undefined => {
    try {
      return work();
    } catch {
      return undefined;
    }
  };
  return {
    read: (key) => attempt(() => JSON.parse(area().getItem(prefix + key) ?? 'null') as unknown),
    write: (key, value) => attempt(() => area().setItem(prefix + key, JSON.stringify(value))),
    remove: (key) => attempt(() => area().removeItem(prefix + key)),
  };
}

/** Shared by the web views of one origin. */
export const localStore = storeOf(() => localStorage);
/** Of one tab; survives a reload. */
export const tabStore = storeOf(() => sessionStorage);
