import type { Beacons } from '../beacons.ts';
import type { Emit, Offer } from '../types.ts';
import type { Layout } from './layout.ts';
import type { Filter, WallSource } from './source.ts';
import type { WallWords } from './words.ts';

export type WallOptions = {
  root: HTMLElement;
  /** URL parameters of the page. */
  query: URLSearchParams;
  /** Origin of the service. */
  base: string;
  words: WallWords;
  /**
   * Notifies the host page or app of an event.
   * @returns false if the host prevents the navigation
   */
  emit: Emit;
  beacons: Beacons;
};

/** State shared by the list, the filter and the wall. */
export type WallState = WallOptions & {
  layout: Layout;
  loadPage: WallSource;
  onLink: (url: string, event: Event) => void;
  filter: Filter;
  offersByElement: Map<Element, Offer>;
  /** Cursor of the next page. Null before the first page and after the last one. */
  cursor: string | null;
  /** Counter that is incremented by each filter change. Responses for an earlier filter are dropped. */
  generation: number;
  loading: boolean;
  /** Whether the first page has loaded. */
  started: boolean;
  /**
   * Offer whose close beacon is fired when the user leaves the page. It may no longer be in the list after a later
   * search.
   */
  lastSeen: Offer | null;
};

export const isFiltered = ({ filter }: WallState): boolean => filter.text !== '' || filter.category !== null;
