import { createApi } from '../../command-line/api.ts';
import { exitCodes, type Run, usageError } from '../../command-line/command.ts';
import type { LandingPageOf, LandingPageView } from '../view.ts';

/** Fields to list for a campaign, or for an offer with a secondary action. */
type Listed = {
  kind: LandingPageOf;
  id: number;
  name: string;
  active: boolean;
  landing_page: LandingPageView | null;
};
type Campaign = Omit<Listed, 'kind'>;
type Offer = {
  id: number;
  title: string;
  active: boolean;
  useraction_url: string | null;
  action_page: LandingPageView | null;
};

/** Lists the landing pages of the publisher's campaigns and of secondary actions. */
export const listPages: Run = async (call) => {
  if (call.args.length > 0) throw usageError('This command takes no arguments.');
  const api = createApi(call);
  const pages: Listed[] = [
    ...(await api.all<Campaign>('/manage/v1/campaigns')).map(
      ({ id, name, active, landing_page }): Listed => ({ kind: 'campaign', id, name, active, landing_page }),
    ),
    ...(await api.all<Offer>('/manage/v1/offers'))
      .filter(({ useraction_url: url }) => url !== null && url !== '')
      .map(
        ({ id, title: name, active, action_page: landing_page }): Listed => ({
          kind: 'offer',
          id,
          name,
          active,
          landing_page,
        }),
      ),
  ];
  // Pages that have not been checked yet do not count as a problem.
  const isWell = ({ landing_page: page }: Listed): boolean => page === null || page.result === 'found';
  const selected = pages.filter((entry) => call.options.problems !== true || !isWell(entry));
  call.out.data(selected);
  for (const { kind, id, name, active, landing_page: page } of selected)
    call.out.line(
      `${kind} ${id}  ${name}  ${active ? 'active' : 'paused'}  ${page === null ? 'not checked yet' : textOf(page)}`,
    );
  // The exit code reports lost pages even if they are filtered out of the list.
  const isLost = ({ landing_page: page }: Listed): boolean => page?.result === 'gone' || page?.result === 'moved';
  return pages.some(isLost) ? exitCodes.problem : exitCodes.ok;
};

/**
 * Formats a check result as text: the result and when it began, the response, the final URL, and the time of the check.
 */
const textOf = ({ result, looked_at: at, problem, status, redirects, ...page }: LandingPageView): string => {
  const moved = result === 'moved' ? ` instead of ${page.led_to}` : '';
  const since = page.failing_since === null ? '' : ` since ${page.failing_since}`;
  return `${result}${since}  ${problem ?? status}  ${page.leads_to}${moved} after ${redirects} redirects  ${at}`;
};
