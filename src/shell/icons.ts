import { type Html, trusted } from '../platform/http/html.ts';

/** Outlines on a 20 × 20 grid, drawn in the colour of the text. */
const outlines = {
  overview: '<path d="M3 16V9M8 16V4M13 16v-5M18 16V7"/>',
  reports: '<path d="M3 3v14h14M6.5 12l3-4 3 2.5L17 5"/>',
  experiments: '<path d="M8 3v5L3.5 15.5A1 1 0 0 0 4.4 17h11.2a1 1 0 0 0 .9-1.5L12 8V3M7 3h6M6 12h8"/>',
  rankings: '<path d="M6 16V4M3 7l3-3 3 3M14 4v12M11 13l3 3 3-3"/>',
  alerts: '<path d="M5 14V9a5 5 0 0 1 10 0v5l1.5 1.5h-13zM8.5 17.5h3"/>',
  offers: '<path d="M3 8.5V4a1 1 0 0 1 1-1h4.5L17 11.5 11.5 17z"/><circle cx="6.7" cy="6.7" r="1"/>',
  drafts: '<path d="M5 3h7l3 3v11H5zM12 3v3h3M7.5 12.5l1.8 1.8 3.4-4"/>',
  campaigns: '<path d="M3 8v4h3l7 4V4L6 8zM16 8a3 3 0 0 1 0 4"/>',
  advertisers: '<path d="M3 8l1.5-5h11L17 8M3 8v9h14V8M3 8h14M8 17v-5h4v5"/>',
  integration: '<path d="M7 6l-4 4 4 4M13 6l4 4-4 4"/>',
  mail: '<rect x="2.5" y="4.5" width="15" height="11" rx="1.5"/><path d="M3 6l7 5 7-5"/>',
  deliveries: '<path d="M17 3L9 11M17 3l-5 14-3-6-6-3z"/>',
  settings: '<path d="M3 6h8M15 6h2M3 14h2M9 14h8"/><circle cx="13" cy="6" r="2"/><circle cx="7" cy="14" r="2"/>',
  languages:
    '<path d="M3 5h8M7 3v2M9.5 5c-.5 3-2.5 5-6 6.5M4.5 5c.5 2.5 2.5 4.5 5 5.5M9.5 17l3.5-8 3.5 8M10.8 14h4.4"/>',
  themes: '<circle cx="10" cy="10" r="7"/><path d="M10 3v14a7 7 0 0 0 0-14z" fill="currentColor" stroke="none"/>',
  controls: '<circle cx="10" cy="10" r="7"/><path d="M5 5l10 10"/>',
  placements: '<rect x="3" y="3" width="14" height="14" rx="2"/><path d="M3 8h14M8 8v9"/>',
  sequence: '<path d="M8 5h9M8 10h9M8 15h9M3 4l1-.5V7M2.8 13.3c1.6-1 2.4.3 1.4 1.4L2.8 16.5h2.4"/>',
  keys: '<circle cx="7" cy="13" r="3.5"/><path d="M9.5 10.5L17 3M14 6l2 2"/>',
  webhooks:
    '<circle cx="5" cy="15" r="2"/><circle cx="15" cy="15" r="2"/><circle cx="10" cy="5" r="2"/>' +
    '<path d="M9 6.8L6 13M11 6.8l3 6.2M7 15h6"/>',
  sources: '<path d="M3 3v14M17 10H7M11 6l-4 4 4 4"/>',
  roles: '<path d="M10 2.5l6 2v5c0 4-2.5 6.5-6 8-3.5-1.5-6-4-6-8v-5zM7.5 9.5l2 2 3.5-4"/>',
  users:
    '<circle cx="8" cy="7" r="3"/>' +
    '<path d="M2.5 17a5.5 5.5 0 0 1 11 0M13.5 4.5a3 3 0 0 1 0 5M15 12.5a5 5 0 0 1 2.5 4.5"/>',
  activity: '<path d="M3.5 10a6.5 6.5 0 1 0 2-4.7L3.5 7M3.5 3v4h4M10 6.5V10l2.5 2"/>',
  publishers: '<path d="M4 17V4a1 1 0 0 1 1-1h6a1 1 0 0 1 1 1v13M12 8h3a1 1 0 0 1 1 1v8M2 17h16M7 7h2M7 11h2"/>',
  system: '<path d="M2 10h4l2-6 4 12 2-6h4"/>',
  account: '<circle cx="10" cy="7" r="3.5"/><path d="M3.5 17a6.5 6.5 0 0 1 13 0"/>',
  rates: '<path d="M4 7h12l-3-3M16 13H4l3 3"/>',
  menu: '<path d="M3 6h14M3 10h14M3 14h14"/>',
  plus: '<path d="M10 4v12M4 10h12"/>',
  chevron: '<path d="M6 8l4 4 4-4"/>',
  search: '<circle cx="9" cy="9" r="5.5"/><path d="M13 13l4 4"/>',
  check: '<path d="M4 10.5l4 4 8-9"/>',
  alert: '<path d="M10 3L2 17h16zM10 8v4M10 14.5v.1"/>',
} as const;

export type IconName = keyof typeof outlines;

const strokes = 'fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round"';

/** Icon, hidden from screen readers because the text next to it has the same meaning. */
export const icon = (name: IconName): Html =>
  trusted(
    `<svg class="icon" viewBox="0 0 20 20" width="20" height="20" ${strokes} aria-hidden="true">` +
      `${outlines[name]}</svg>`,
  );
