/** The places in the open modal that have something added to them. */
export interface Places {
  dropdown: HTMLElement | undefined;
  /** After the words that nothing was found, before those that ask to be told. */
  suggestions: HTMLElement | undefined;
  askBody: HTMLElement | undefined;
}

/** Watches the modal in a frame: mends its markup after each change, and tells where its places are now. */
export function keepMended(frame: HTMLElement, tell: (places: Places) => void): () => void {
  const mend = (): void => {
    mendDialog(frame);
    for (const list of frame.querySelectorAll('ul[id^="docsearch-"]')) mendList(list);
    preferFirstHit(frame);
    tell({
      dropdown: find(frame, '.DocSearch-Dropdown'),
      suggestions: suggestionsIn(frame),
      askBody: find(frame, '.DocSearch-AskAiScreen-Body'),
    });
  };
  const observer = new MutationObserver(mend);
  observer.observe(frame, {
    subtree: true,
    childList: true,
    attributeFilter: [
      'role',
      'aria-selected',
      'aria-controls',
      'aria-activedescendant',
      'aria-expanded',
      'tabindex',
    ],
  });
  mend();
  return () => observer.disconnect();
}

/** DocSearch calls its modal a button that has everything else in it. It is a dialog. */
function mendDialog(frame: HTMLElement): void {
  const dialog = frame.querySelector('.DocSearch-Container');
  if (dialog !== null) {
    set(dialog, {
      role: 'dialog',
      'aria-modal': 'true',
      'aria-label': 'Search the documentation',
      tabindex: '-1',
    });
    for (const name of ['aria-expanded', 'aria-haspopup', 'aria-controls', 'aria-labelledby'])
      if (dialog.hasAttribute(name)) dialog.removeAttribute(name);
  }
  for (const part of frame.querySelectorAll('.DocSearch-Modal > :is(header, footer)'))
    set(part, { role: 'presentation' }); // the page has a header and a footer of its own
  const input = frame.querySelector('.DocSearch-Input');
  if (input === null) return;
  // Its label goes away while an answer is loaded and while questions are asked, and what it controls while they are.
  set(input, { 'aria-label': 'Search' });
  if (frame.querySelector('.DocSearch-AskAiScreen') !== null) {
    for (const name of ['aria-activedescendant', 'aria-controls'])
      if (input.hasAttribute(name)) input.removeAttribute(name);
  }
}

/** Found things hold links and buttons, which options of a list box cannot; the items of a tree can. */
function mendList(list: Element): void {
  const title = list.parentElement?.querySelector('.DocSearch-Hit-source')?.textContent ?? '';
  set(list, { role: 'tree', 'aria-label': title === '' ? 'Ask' : title });
  if (list.hasAttribute('aria-labelledby')) list.removeAttribute('aria-labelledby');
  for (const item of list.children) {
    set(item, {
      role: 'treeitem',
      'aria-level': item.classList.contains('DocSearch-Hit--Child') ? '2' : '1',
    });
  }
}

/** The place for suggestions, made where there is none. */
function suggestionsIn(frame: HTMLElement): HTMLElement | undefined {
  const title = frame.querySelector('.DocSearch-NoResults > .DocSearch-Title');
  if (title === null) return undefined;
  const there = title.nextElementSibling;
  if (there instanceof HTMLElement && there.dataset['suggestions'] !== undefined) return there;
  const place = document.createElement('div');
  place.dataset['suggestions'] = '';
  title.after(place);
  return place;
}

/** Enter opens what was found; asking a question, which stands above it, is one key further. */
function preferFirstHit(frame: HTMLElement): void {
  const input = frame.querySelector<HTMLInputElement>('.DocSearch-Input');
  const ask = frame.querySelector('.DocSearch-AskAi-Section [aria-selected="true"]');
  const hasHits = frame.querySelector('.DocSearch-Hits [role="treeitem"]') !== null;
  if (input === null || ask === null || !hasHits || preferred.get(input) === input.value) return;
  preferred.set(input, input.value);
  input.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true, cancelable: true }));
}

/** The query that the first hit was preferred for: once, so that the reader can go back up. */
const preferred = new WeakMap<HTMLInputElement, string>();

/** Writes only differences: writing is a change that is watched. */
function set(node: Element, attributes: Record<string, string>): void {
  for (const [name, value] of Object.entries(attributes))
    if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

function find(frame: HTMLElement, selector: string): HTMLElement | undefined {
  return frame.querySelector<HTMLElement>(selector) ?? undefined;
}

/**
 * Keeps the focus inside the frame, over everything that is in it now: DocSearch only knows what was there when it was
 * opened, so that nothing it finds could be reached with the Tab key.
 */
export function trapFocus(frame: HTMLElement): () => void {
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== 'Tab') return;
    event.stopImmediatePropagation();
    const stops = [
      ...frame.querySelectorAll<HTMLElement>('a[href], button:not(:disabled), input:not(:disabled)'),
    ].filter((one) => one.tabIndex >= 0 && one.checkVisibility());
    const [first, last] = [stops[0], stops.at(-1)];
    const isOutside = !frame.contains(document.activeElement);
    if (isOutside || document.activeElement === (event.shiftKey ? first : last)) {
      event.preventDefault();
      (event.shiftKey ? last : first)?.focus();
    }
  };
  // Pressed beside the modal, which closes it: the press may not take the focus from where it was given back to.
  const onPress = (event: MouseEvent): void => {
    if (event.target instanceof Element && event.target.matches('.DocSearch-Container'))
      event.preventDefault();
  };
  document.addEventListener('keydown', onKey, { capture: true });
  frame.addEventListener('mousedown', onPress);
  return () => {
    document.removeEventListener('keydown', onKey, { capture: true });
    frame.removeEventListener('mousedown', onPress);
  };
}

/** Puts a text into the search box as if it had been typed. */
export function typeQuery(frame: HTMLElement, text: string): void {
  const input = frame.querySelector<HTMLInputElement>('.DocSearch-Input');
  if (input === null) return;
  // React notices only changes that bypass its own setter.
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(input, text);
  input.dispatchEvent(new Event('input', { bubbles: true }));
  input.focus();
}
