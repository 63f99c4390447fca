import { type Html, html } from '../../platform/http/html.ts';
import type { DocsAssets } from '../site/assets.ts';
import { inlineText } from '../site/inline-text.ts';
import { renderDocsPage } from '../site/page.ts';
import { type DescribedTag, describeOperations, type Reader } from './described.ts';
import { methodLabel, renderOperation } from './operation.ts';
import { referencePath, tagPath } from './paths.ts';

type Groups = ReturnType<typeof describeOperations>;
type Parts = { reader: Reader; assets: DocsAssets };

/** Renders the home page of the API reference: how to call the API, and a list of all operations. */
export function renderReferenceHome({ reader, assets }: Parts): string {
  const groups = describeOperations(reader.document);
  const { info, components } = reader.document;
  const content = html`
    <article>
      <h1>API reference</h1>
      ${info.description.split('\n\n').map((text) => html`<p>${inlineText(text)}</p>`)}
      <p>OpenAPI 3.1 description: <a href="/docs/json">JSON</a>, <a href="/docs/yaml">YAML</a>.</p>
      <h2 id="keys">Keys</h2>
      <ul class="fields">${Object.entries(components.securitySchemes).map(
        ([name, { description, in: place }]) => html`
        <li>
          <p class="field"><code>${name}</code> <span>${place === 'query' ? 'in the query' : 'in the header'}</span></p>
          <p>${inlineText(String(description))}</p>
        </li>`,
      )}</ul>
      ${groups.map(
        ({ title, tags }) => html`
        <h2>${title}</h2>
        <div class="tags">${tags.map((tag) => tagCard(tag))}</div>`,
      )}
    </article>`;
  return renderDocsPage({
    title: 'API reference',
    area: 'API reference',
    assets,
    isDemo: true,
    content,
    navigation: navigation(groups),
  });
}

const tagCard = (tag: DescribedTag): Html => html`
  <section class="tag">
    <h3><a href="${tagPath(tag)}">${tag.name}</a></h3>
    <p>${tag.description}</p>
    <ul>${tag.operations.map(
      ({ id, method, path, summary }) => html`
      <li>
        <a href="${tagPath(tag)}#${id}">${methodLabel(method)} <code>${path}</code></a> <small>${summary}</small>
      </li>`,
    )}</ul>
  </section>`;

/**
 * Renders the page with all operations of a tag.
 * @returns null if there is no such tag
 */
export function renderTagPage(slug: string, { reader, assets }: Parts): string | null {
  const groups = describeOperations(reader.document);
  const tag = groups.flatMap(({ tags }) => tags).find((candidate) => candidate.slug === slug);
  if (tag === undefined) return null;
  const content = html`
    <header class="intro"><h1>${tag.name}</h1><p>${tag.description}</p></header>
    ${tag.operations.map((operation) => renderOperation(operation, reader))}`;
  return renderDocsPage({
    title: tag.name,
    area: 'API reference',
    assets,
    isDemo: reader.isDemo,
    content,
    isWide: true,
    navigation: navigation(groups, tag),
  });
}

const navigation = (groups: Groups, current?: DescribedTag): Html => html`
  <p><a href="${referencePath}"${current === undefined && html` aria-current="page"`}>Overview</a></p>
  ${groups.map(
    ({ title, tags }) => html`
    <p class="nav-title">${title}</p>
    ${tags.map((tag) => navigationTag(tag, tag === current))}`,
  )}`;

const navigationTag = (tag: DescribedTag, isCurrent: boolean): Html => html`
    <details${isCurrent && html` open`}>
      <summary>${tag.name}</summary>
      <ul>${tag.operations.map(
        ({ id, method, summary }) => html`
        <li><a href="${isCurrent ? '' : tagPath(tag)}#${id}"><span>${summary}</span> ${methodLabel(method)}</a></li>`,
      )}</ul>
    </details>`;
