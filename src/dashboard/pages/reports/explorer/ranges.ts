/** Ranges that move with the day, and their names. All but yesterday and the last month end today. */
export const rangeTexts = {
  today: 'Today',
  yesterday: 'Yesterday',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  '90d': 'Last 90 days',
  month: 'This month',
  'last-month': 'Last month',
  '365d': 'Last 12 months',
} as const;

export type RangeName = keyof typeof rangeTexts;
export const isRange = (name: string): name is RangeName => Object.hasOwn(rangeTexts, name);
