/** A node of a page in MDX plugins. */
export interface Node {
  type: string;
  name?: string;
  value?: string;
  lang?: string;
  meta?: string;
  attributes?: unknown[];
  children?: Node[];
}

/** Lets the callback replace each node. */
export function replaceNodes(tree: Node, replacement: (node: Node) => Node[] | undefined): void {
  if (tree.children === undefined) return;
  tree.children = tree.children.flatMap((child) => {
    const others = replacement(child);
    if (others === undefined) replaceNodes(child, replacement);
    return others ?? [child];
  });
}

/** The text of an attribute of an element. */
export function attribute({ attributes = [] }: Node, name: string): string | undefined {
  const found = (attributes as { name?: string; value?: unknown }[]).find((one) => one.name === name);
  return typeof found?.value === 'string' ? found.value : undefined;
}

/** An element with attributes that are texts. */
export function element(name: string, attributes: Record<string, string>, children: Node[] = []): Node {
  return {
    type: 'mdxJsxFlowElement',
    name,
    attributes: Object.entries(attributes).map(([key, value]) => ({
      type: 'mdxJsxAttribute',
      name: key,
      value,
    })),
    children,
  };
}
