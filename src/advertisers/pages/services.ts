import type { Snapshot } from '../../catalog/types.ts';
import type { ReviewedKinds } from '../../drafts/apply.ts';
import type { Drafts } from '../../drafts/module.ts';
import type { AllAdditions } from '../../management/additions.ts';
import type { ManagementClient } from '../../management/page-client.ts';
import type { ReportService } from '../../reports/service.ts';
import type { PageContext, ViewedAdvertiser } from '../../shell/context.ts';
import { utc } from '../../shell/format.ts';
import type { Shell } from '../../shell/layout.ts';
import type { TestClick } from '../../tracking/test-click.ts';

export type AdvertiserContext = PageContext & { advertiser: ViewedAdvertiser };

/** Services for the advertiser pages. */
export type PageServices = Shell & {
  management: ManagementClient;
  kinds: ReviewedKinds;
  drafts: { propose: Drafts['propose']; withdraw: Drafts['withdraw']; markSeen: Drafts['markSeen'] };
  additions: AllAdditions;
  catalog: { current: () => Snapshot };
  reports: ReportService;
  testClick: TestClick;
};

/** Returns the time zone of the advertiser's publisher. Campaign start and end times are in this time zone. */
export const zoneOf = ({ catalog }: PageServices, { advertiser }: AdvertiserContext): { timeZone: string } =>
  catalog.current().publishers.get(advertiser.publisherId) ?? utc;
