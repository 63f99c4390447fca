import sanitizeHtml from 'sanitize-html';

const allowedTags = 'p br ul ol li b strong i em u a span div h4 h5 h6 small sup sub table thead tbody tr th td'.split(
  ' ',
);

/**
 * Terms as they may be stored and shown as raw HTML: harmless tags only, links to https pages that open apart
 * (docs/interface.md#fetch-offers).
 */
export function sanitiseTerms(html: string): string {
  return sanitizeHtml(html, {
    allowedTags,
    allowedAttributes: { a: ['href', 'rel', 'target'] },
    allowedSchemes: ['https'],
    allowProtocolRelative: false,
    transformTags: {
      a: (tagName, { href }) => ({
        tagName,
        // Without a scheme it would lead into the page or app that shows the terms.
        attribs: {
          ...(href !== undefined && /^https:\/\//i.test(href) ? { href } : {}),
          rel: 'noopener noreferrer nofollow',
          target: '_blank',
        },
      }),
    },
  });
}
