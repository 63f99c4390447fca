import type { Beacons } from '../beacons.ts';
import type { Emit, Offer } from '../types.ts';
import type { Layout } from './layout.ts';
import type { Filter, WallSource } from './source.ts';
import type { WallWords } from './words.ts';

export type WallOptions = {
  root: HTMLElement;
  /** Parameters of the page's URL. */
  query: URLSearchParams;
  /** Origin of the service. */
  base: string;
  words: WallWords;
  /** Notifies the host of an event. @returns false if the host prevents the navigation */
  emit: Emit;
  beacons: Beacons;
};

/** State that the list, the filter and the wall share. */
export type WallState = WallOptions & {
  layout: Layout;
  loadPage: WallSource;
  onLink: (url: string, event: Event) => void;
  filter: Filter;
  offersByElement: Map<Element, Offer>;
  /** Cursor of the next page; null before the first page, or after the last one. */
  cursor: string | null;
  /** Incremented by every new filter; responses to an older one are dropped. */
  generation: number;
  loading: boolean;
  /** Whether the first page has arrived. */
  started: boolean;
  /** Offer whose close beacon is sent when the page is left; a later search may have removed it. */
  lastSeen: Offer | null;
};

export const isFiltered = ({ filter }: WallState): boolean => filter.text !== '' || filter.category !== null;
