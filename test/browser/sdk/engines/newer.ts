/**
 * Features that the oldest supported web views (iOS 12.0 and Chromium 60) lack, by where they are found. The SDK must
 * not use them, unless it checks that they exist (`guarded`).
 */
export const newerMembers = [
  // Objects, arrays, strings, promises
  ...['fromEntries', 'hasOwn', 'groupBy', 'flat', 'flatMap', 'at', 'findLast', 'findLastIndex', 'toReversed'],
  ...['toSorted', 'toSpliced', 'with', 'replaceAll', 'matchAll', 'trimStart', 'trimEnd', 'isWellFormed', 'allSettled'],
  ...['finally', 'any', 'withResolvers', 'structuredClone', 'queueMicrotask', 'randomUUID'],
  // DOM
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

/** Global objects that the oldest supported web views lack. */
export const newerGlobals = [
  ...['AbortController', 'AbortSignal', 'IntersectionObserver', 'ResizeObserver', 'HTMLDialogElement', 'CSSStyleSheet'],
  ...['globalThis', 'structuredClone', 'queueMicrotask', 'BigInt', 'WeakRef', 'FinalizationRegistry', 'Temporal'],
  ...['CompressionStream', 'BroadcastChannel', 'cookieStore', 'navigation', 'trustedTypes', 'reportError'],
];

/**
 * Features that the SDK uses only after a check. A test runs the SDK without all of the features above: see
 * src/browser/sdk/compat.ts, visibility.ts and wall.ts.
 */
export const guarded = [
  ...['adoptedStyleSheets', 'showModal', 'timeout', 'AbortController', 'AbortSignal', 'IntersectionObserver'],
  'CSSStyleSheet',
];
