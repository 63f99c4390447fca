import { button } from '../views/dom.ts';
import type { Filter } from './source.ts';
import type { WallState } from './state.ts';

/** Pause in typing after which a search starts, in milliseconds. */
const searchDelayMs = 250;

/** Calls `reload` after each filter change. */
export function listenToFilter(wall: WallState, reload: () => void): void {
  const { search, categories } = wall.layout;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const change = (values: Partial<Filter>): void => {
    Object.assign(wall.filter, values);
    reload();
  };
  search.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => change({ text: search.value.trim() }), searchDelayMs);
  });
  categories.addEventListener('click', ({ target }) => {
    if (!(target instanceof HTMLButtonElement)) return;
    for (const chip of categories.querySelectorAll('button'))
      chip.setAttribute('aria-pressed', String(chip === target));
    change({ category: target.dataset.category || null });
  });
}

/** Adds a button for each category, and one for all categories. */
export function addCategories({ layout: { categories }, words }: WallState, names: readonly string[]): void {
  if (names.length < 2) return;
  for (const name of ['', ...names]) {
    const chip = button('chip', () => {}, name || words.offerwall.all);
    chip.setAttribute('aria-pressed', String(name === ''));
    chip.dataset.category = name;
    categories.append(chip);
  }
}
