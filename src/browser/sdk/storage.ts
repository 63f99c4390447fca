import { toJson } from './json.ts';
import { tryCall } from './try-call.ts';

/** Web storage of JSON values. Where it is blocked, full or has foreign text, reading finds nothing. */
type JsonStorage = {
  read: (key: string) => unknown;
  /** @returns false where it failed */
  write: (key: string, value: unknown) => boolean;
};

const prefix = 'perkwire:';

let allowed = true;

/** Users may refuse storage: then nothing is written any more, and what is there is removed. */
export function allowStorage(wanted: boolean): void {
  allowed = wanted;
  if (wanted) return;
  for (const area of areas)
    tryCall(() => {
      for (const key of Object.keys(area())) if (key.startsWith(prefix)) area().removeItem(key);
    });
}

const areas = [() => localStorage, () => sessionStorage] as const;

/** `area` is a function, because the mere access throws where storage is blocked. */
const storageOf = (area: () => Storage): JsonStorage => ({
  read: (key) => tryCall(() => JSON.parse(area().getItem(prefix + key) ?? 'null') as unknown),
  write: (key, value) =>
    tryCall(() => {
      if (allowed) area().setItem(prefix + key, toJson(value));
      return true;
    }) === true,
});

/** Shared by the web views of one origin. */
export const originStorage = storageOf(areas[0]);
/** Of one tab; survives a reload. */
export const tabStorage = storageOf(areas[1]);
