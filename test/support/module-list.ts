import { readFileSync } from 'node:fs';

const list = readFileSync(new URL('../../src/modules.ts', import.meta.url), 'utf8');

/** Module folders by the name of their create function. */
const folders = new Map(
  [...list.matchAll(/import \{ (create\w+).* \} from '\.\/([\w-]+)\/module\.ts'/g)].map(([, create, folder]) => [
    create as string,
    folder as string,
  ]),
);
const body = list.slice(list.indexOf('export async function createModules'));

/** Create functions by module, in the order of src/modules.ts. A module has the name of its folder. */
export const creators: ReadonlyMap<string, string> = new Map(
  [...body.matchAll(/\b(create\w+)\(/g)].flatMap(([, create = '']) => {
    const folder = folders.get(create);
    return folder === undefined ? [] : [[folder, create] as const];
  }),
);

const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Modules that each module depends on. Its other arguments are functions and values. */
export const argumentsOf: ReadonlyMap<string, readonly string[]> = new Map(
  [...body.matchAll(/\b(create\w+)\((?:\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\})?/g)].flatMap(
    ([, create = '', fields = '']) => {
      const folder = folders.get(create);
      const names = fields.replace(/\{[^{}]*\}/g, '').split(',');
      const modules = names.map((name) => kebab(name.trim())).filter((name) => creators.has(name));
      return folder === undefined ? [] : [[folder, modules] as const];
    },
  ),
);

/** Returns the modules with all their dependencies, in the order of src/modules.ts. */
export function withArguments(modules: readonly string[]): string[] {
  const names = new Set<string>();
  const addAll = (list: readonly string[]): void => {
    for (const name of list) {
      if (names.has(name)) continue;
      names.add(name);
      addAll(argumentsOf.get(name) ?? []);
    }
  };
  addAll(modules);
  return [...creators.keys()].filter((name) => names.has(name));
}
