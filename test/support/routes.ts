import type { App } from '../../src/platform/http/app.ts';

export type Route = { method: string; path: string };

/** Returns all routes, with `:name` for path parameters. */
export function routesOf(app: App): Route[] {
  const tree = app.printRoutes({ commonPrefix: false, includeHooks: false });
  const routes: Route[] = [];
  const stack: string[] = [];
  for (const line of tree.split('\n')) {
    const match = /^([│ ]*)(?:├──|└──) (\S+)(?: \(([A-Z, ]+)\))?/.exec(line);
    if (match === null) continue;
    const depth = (match[1] ?? '').length / 4;
    stack.length = depth;
    stack[depth] = match[2] ?? '';
    for (const method of (match[3] ?? '').split(', ')) if (method !== '') routes.push({ method, path: stack.join('') });
  }
  return routes;
}
