import { t } from '../../../platform/i18n/messages.ts';

/** Relative date ranges. Calendar ranges begin on a Monday or on the first day of a month. */
export const rangeNames = [
  ...(['today', 'yesterday', '7d', '30d', '90d', '365d'] as const),
  ...(['week', 'last-week', 'month', 'last-month', 'quarter', 'last-quarter', 'year'] as const),
];

export type RangeName = (typeof rangeNames)[number];
export const isRange = (name: string): name is RangeName => rangeNames.some((range) => range === name);
export const rangeName = (range: RangeName): string => t(`ranges.${range}`);
