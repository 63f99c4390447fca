import { createApi } from '../../command-line/api.ts';
import { exitCodes, type Run, usageError } from '../../command-line/command.ts';
import type { LandingPageView } from '../view.ts';

/** A campaign, as far as it is listed. */
type Listed = { id: number; name: string; active: boolean; landing_page: LandingPageView | null };

/** The campaigns of the key's publisher with their landing pages. */
export const listPages: Run = async (call) => {
  if (call.args.length > 0) throw usageError('This command takes no arguments.');
  const api = createApi(call);
  const found: Listed[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = { limit: '100', ...(cursor !== '' && { cursor }) };
    const page = (await api.call('GET', '/manage/v1/campaigns', { query })) as {
      data: Listed[];
      next_cursor: string | null;
    };
    found.push(...page.data);
    cursor = page.next_cursor;
  }
  // A page that was not looked at yet is no problem.
  const isWell = ({ landing_page: page }: Listed): boolean => page === null || page.result === 'found';
  const shown = found.filter((one) => call.options.problems !== true || !isWell(one));
  call.out.data(shown.map(({ id, name, active, landing_page }) => ({ id, name, active, landing_page })));
  for (const { id, name, active, landing_page: page } of shown)
    call.out.line(
      `${id}  ${name}  ${active ? 'active' : 'paused'}  ${page === null ? 'not looked at yet' : textOf(page)}`,
    );
  // Scripts learn of lost pages, whatever is listed.
  const isLost = ({ landing_page: page }: Listed): boolean => page?.result === 'gone' || page?.result === 'moved';
  return found.some(isLost) ? exitCodes.problem : exitCodes.ok;
};

/** What came, since when, what the page answered, where it leads, and when it was looked at. */
const textOf = ({ result, looked_at: at, problem, status, redirects, ...page }: LandingPageView): string => {
  const moved = result === 'moved' ? `, not to ${page.led_to} any more` : '';
  const since = page.failing_since === null ? '' : ` since ${page.failing_since}`;
  return `${result}${since}  ${problem ?? status}  ${page.leads_to}${moved} after ${redirects} redirects  ${at}`;
};
