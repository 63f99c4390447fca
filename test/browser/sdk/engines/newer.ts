/**
 * What the oldest supported web views lack (iOS 12.0 and Chromium 60), by the kind of its place. The SDK must not use
 * it, or only where it has looked whether it is there (`guarded`).
 */
export const newerMembers = [
  // Objects, arrays, texts, promises
  ...['fromEntries', 'hasOwn', 'groupBy', 'flat', 'flatMap', 'at', 'findLast', 'findLastIndex', 'toReversed'],
  ...['toSorted', 'toSpliced', 'with', 'replaceAll', 'matchAll', 'trimStart', 'trimEnd', 'isWellFormed', 'allSettled'],
  ...['finally', 'any', 'withResolvers', 'structuredClone', 'queueMicrotask', 'randomUUID'],
  // Documents
  ...['replaceChildren', 'adoptedStyleSheets', 'replaceSync', 'checkVisibility', 'toggleAttribute', 'showModal'],
  ...[
    'ariaDisabled',
    'ariaPressed',
    'ariaLabel',
    'ariaHidden',
    'inert',
    'popover',
    'part',
    'requestSubmit',
    'moveBefore',
  ],
  // URLs and requests
  ...['canParse', 'timeout', 'throwIfAborted', 'sendBeacon', 'userAgentData', 'scheduler', 'clipboard', 'share'],
];

/** Globals of the same kind. */
export const newerGlobals = [
  ...['AbortController', 'AbortSignal', 'IntersectionObserver', 'ResizeObserver', 'HTMLDialogElement', 'CSSStyleSheet'],
  ...['globalThis', 'structuredClone', 'queueMicrotask', 'BigInt', 'WeakRef', 'FinalizationRegistry', 'Temporal'],
  ...['CompressionStream', 'BroadcastChannel', 'cookieStore', 'navigation', 'trustedTypes', 'reportError'],
];

/**
 * Uses behind a check, which the test without all of the above runs: src/browser/sdk/compat.ts, visibility.ts and
 * wall.ts.
 */
export const guarded = [
  ...['adoptedStyleSheets', 'showModal', 'timeout', 'AbortController', 'AbortSignal', 'IntersectionObserver'],
  'CSSStyleSheet',
];
