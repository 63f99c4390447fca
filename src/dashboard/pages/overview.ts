import type { App } from '../../deps.ts';
import { publisherPages, type Tools } from '../pages.ts';
import { emptyState, linkButton } from '../parts.ts';

/** What happened lately. */
export function overviewPages(app: App, tools: Tools): void {
  const pages = publisherPages(app, tools);
  pages.get('/overview', 'analyst', ({ path }) => ({
    title: 'Overview',
    nav: 'overview',
    body: emptyState(
      'overview',
      'Nothing to show yet',
      'Sessions, impressions and clicks appear here.',
      linkButton(path('/integration'), 'Integrate', 'main'),
    ),
  }));
}
