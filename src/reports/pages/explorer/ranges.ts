import { t } from '../../../platform/i18n/messages.ts';
/** Ranges that move with the day. All but yesterday and the last month end today. */
export const rangeNames = ['today', 'yesterday', '7d', '30d', '90d', 'month', 'last-month', '365d'] as const;

export type RangeName = (typeof rangeNames)[number];
export const isRange = (name: string): name is RangeName => rangeNames.some((known) => known === name);
export const rangeName = (range: RangeName): string => t(`ranges.${range}`);
