/**
 * Type declaration for the data of the package, which has no types of its own. There is one regular expression per
 * known robot, in PCRE syntax without flags.
 */
declare module 'node-device-detector/regexes/bots.js' {
  const robots: readonly { regex: string; name: string }[];
  export = robots;
}
