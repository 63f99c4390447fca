import { createFailFast } from '../../../platform/db/fail-fast.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { card, copyable, descriptionList, link, tabs } from '../../shell/components.ts';
import { type PublisherContext, queryText } from '../../shell/context.ts';
import type { Page } from '../../shell/layout.ts';
import { type PageServices, publisherPages } from '../../shell/pages.ts';
import { liveCard } from '../live/live.ts';
import { setupChecklist } from '../setup/checklist.ts';
import { type Snippet, snippetsFor } from './snippets.ts';

/** Code snippets with the publisher's SDK id, and calls live. */
export function integrationPages(app: App, services: PageServices): void {
  const { deps } = services;
  const failFast = createFailFast(deps.dbHealth);
  publisherPages(app, services).get('/integration', 'analyst', async (context) =>
    integrationPage(context, deps.config.publicUrl, await setupChecklist({ services, failFast }, context)),
  );
}

function integrationPage(context: PublisherContext, publicUrl: string, checklist: Html): Page {
  const { publisher, path } = context;
  const snippets = snippetsFor(publisher, publicUrl);
  const wanted = queryText(context, 'with');
  const current = snippets.find(({ key }) => key === wanted) ?? (snippets[0] as Snippet);
  const snippetTabs = snippets.map(({ key, title }) => ({
    text: title,
    href: `${path('/integration')}?with=${key}`,
    current: key === current.key,
  }));
  const { guide } = current;
  return {
    title: 'Integration',
    lead: 'Add a snippet to your site or app. Requests appear below as they arrive.',
    nav: 'integration',
    body: html`
      ${checklist}
      ${credentialsCard(context, publicUrl)}
      ${tabs('Snippets', snippetTabs)}
      ${copyable(current.text, `${current.title} snippet`)}
      ${guide !== null && html`<p class="hint below">${link(`/docs/guides/${guide}`, 'Guide')}</p>`}
      ${liveCard(context)}`,
  };
}

function credentialsCard({ publisher, path }: PublisherContext, publicUrl: string): Html {
  const apiKeys = link(path('/settings/keys'), 'API key');
  return card(
    'Credentials',
    descriptionList([
      ['SDK id', html`<code>${publisher.sdkId}</code>`],
      ['Base URL', html`<code>${publicUrl}</code>`],
      ['Offers per response', publisher.offersPerResponse],
    ]),
    { lead: html`The SDK id is public and only fetches offers. For everything else, create an ${apiKeys}.` },
  );
}
