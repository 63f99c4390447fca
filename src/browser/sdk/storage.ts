import { tryCall } from './try-call.ts';

/** Web storage of JSON values. Where it is blocked, full or has foreign text, reading finds nothing. */
type JsonStorage = {
  read: (key: string) => unknown;
  /** @returns whether it is stored now */
  write: (key: string, value: unknown) => boolean;
};

const prefix = 'perkwire:';

/** `area` is a function, because the mere access throws where storage is blocked. */
const storageOf = (area: () => Storage): JsonStorage => ({
  read: (key) => tryCall(() => JSON.parse(area().getItem(prefix + key) ?? 'null') as unknown),
  write: (key, value) =>
    tryCall(() => {
      area().setItem(prefix + key, JSON.stringify(value));
      return true;
    }) === true,
});

/** Shared by the web views of one origin. */
export const originStorage = storageOf(() => localStorage);
/** Of one tab; survives a reload. */
export const tabStorage = storageOf(() => sessionStorage);
