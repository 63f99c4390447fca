import { toJson } from './json.ts';
import { tryCall } from './try-call.ts';

/** Web storage for JSON values. Reads return nothing if the storage is blocked or contains invalid text. */
type JsonStorage = {
  read: (key: string) => unknown;
  /**
   * Writes a value.
   * @returns false on failure
   */
  write: (key: string, value: unknown) => boolean;
};

const prefix = 'perkwire:';

let allowed = true;

/** Enables or disables storage. If storage is disabled because the user refuses it, the stored data is removed. */
export function allowStorage(isAllowed: boolean): void {
  allowed = isAllowed;
  if (isAllowed) return;
  for (const area of areas)
    tryCall(() => {
      for (const key of Object.keys(area())) if (key.startsWith(prefix)) area().removeItem(key);
    });
}

const areas = [() => localStorage, () => sessionStorage] as const;

/** `area` is a function, because merely accessing the storage throws if it is blocked. */
const storageOf = (area: () => Storage): JsonStorage => ({
  read: (key) => tryCall(() => JSON.parse(area().getItem(prefix + key) ?? 'null') as unknown),
  write: (key, value) =>
    tryCall(() => {
      if (allowed) area().setItem(prefix + key, toJson(value));
      return true;
    }) === true,
});

/** Storage shared by all web views of an origin. */
export const originStorage = storageOf(areas[0]);
/** Storage of a single tab, which survives a reload. */
export const tabStorage = storageOf(areas[1]);
