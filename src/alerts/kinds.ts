import type { OperationalEvent } from '../webhooks/operational/raise.ts';

/** What people can be told of, with the words of the form (docs/interface.md#alerts). */
export const alertKinds = {
  'endpoint.failing': 'A webhook endpoint fails',
  'endpoint.disabled': 'A webhook endpoint is disabled',
  'endpoint.recovered': 'A webhook endpoint works again',
  'budget.80': '80% of a budget are used',
  'budget.100': 'A budget is used up',
  'campaign.ended': 'A campaign has ended',
  'placement.fill_rate': 'Fill rate of a placement down by half',
  'placement.revenue': 'Revenue of a placement down by half',
} as const;

export type AlertKind = keyof typeof alertKinds;

export const isAlertKind = (name: string): name is AlertKind => Object.hasOwn(alertKinds, name);

/** The kinds that operational events are the cause of. */
export const kindOfEvent: Partial<Record<OperationalEvent, AlertKind>> = {
  'endpoint.failing': 'endpoint.failing',
  'endpoint.disabled': 'endpoint.disabled',
  'endpoint.recovered': 'endpoint.recovered',
  'campaign.budget_reached': 'budget.100',
  'campaign.ended': 'campaign.ended',
};

/** Something to tell of: `subject` is what it is about, `cause` tells one occurrence from the next. */
export type AlertFact = {
  publisherId: number;
  kind: AlertKind;
  subject: string;
  cause: string;
  data: Readonly<Record<string, unknown>>;
};

export type Alert = Omit<AlertFact, 'cause'> & { id: number; raisedAt: Date; endedAt: Date | null };
