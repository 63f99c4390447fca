import { isDeepStrictEqual } from 'node:util';
import type { Node } from './operation-components.ts';

type Operation = { parameters?: Node[] };

/** Says the parameters that all operations of a path have beside these operations, once. */
export function sharePathParameters(paths: Record<string, Node>): void {
  for (const methods of Object.values(paths)) {
    const [first, ...rest] = Object.values(methods) as Operation[];
    const isIn = (one: Node) => (operation: Operation) =>
      operation.parameters?.some((other) => isDeepStrictEqual(one, other)) === true;
    const shared = first?.parameters?.filter((one) => rest.every(isIn(one))) ?? [];
    if (rest.length === 0 || shared.length === 0) continue;
    for (const operation of [first as Operation, ...rest]) {
      const own = operation.parameters?.filter((one) => !shared.some((other) => isDeepStrictEqual(one, other))) ?? [];
      if (own.length > 0) operation.parameters = own;
      else delete operation.parameters;
    }
    methods.parameters = shared;
  }
}
