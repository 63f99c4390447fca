/** A node of an `oxc-parser` syntax tree. */
export type Node = { type: string; start: number; end: number; [key: string]: unknown };

export const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';

/** Calls `see` with each node of a tree and its parent, in source order. */
export function visit(node: Node, parent: Node | null, see: (node: Node, parent: Node | null) => void): void {
  see(node, parent);
  for (const value of Object.values(node)) {
    if (isNode(value)) visit(value, node, see);
    else if (Array.isArray(value)) for (const child of value) if (isNode(child)) visit(child, node, see);
  }
}
