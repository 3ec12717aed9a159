/** Elements in one expression. */

type Child = Node | string;

export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Partial<Omit<HTMLElementTagNameMap[Tag], 'style'>> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** Leaves alone what says the same already, so that a selection in it stays. */
export function setText(node: Node, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}
