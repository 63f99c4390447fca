import { toJson } from './json.ts';
import { tryCall } from './try-call.ts';

/** Web storage of JSON values. If it is blocked, full or contains other text, reads return nothing. */
type JsonStorage = {
  read: (key: string) => unknown;
  /** @returns false on failure */
  write: (key: string, value: unknown) => boolean;
};

const prefix = 'perkwire:';

let allowed = true;

/** Enables or disables storage. If users refuse storage, stored data is removed. */
export function allowStorage(isAllowed: boolean): void {
  allowed = isAllowed;
  if (isAllowed) return;
  for (const area of areas)
    tryCall(() => {
      for (const key of Object.keys(area())) if (key.startsWith(prefix)) area().removeItem(key);
    });
}

const areas = [() => localStorage, () => sessionStorage] as const;

/** `area` is a function, because the access itself throws if storage is blocked. */
const storageOf = (area: () => Storage): JsonStorage => ({
  read: (key) => tryCall(() => JSON.parse(area().getItem(prefix + key) ?? 'null') as unknown),
  write: (key, value) =>
    tryCall(() => {
      if (allowed) area().setItem(prefix + key, toJson(value));
      return true;
    }) === true,
});

/** Storage that the web views of an origin share. */
export const originStorage = storageOf(areas[0]);
/** Storage of one tab, which survives a reload. */
export const tabStorage = storageOf(areas[1]);
