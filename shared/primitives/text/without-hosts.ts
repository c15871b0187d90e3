const URLS = /\b\w+:(?:\/|\\\/){2}[^\s"'<>]+/g;
/**
 * Names with a dot whose last part is letters, and the rest of a URL after them. Does not match versions and numbers.
 */
const NAMES =
  /(?<![\p{L}\p{N}_.-])(?:[\p{L}\p{N}_][\p{L}\p{N}_-]*\.)+(?:xn--[a-z0-9-]+|\p{L}{2,})(?![\p{L}\p{N}_-])(?::\d+)?(?:\/[^\s"'<>,]*)?/giu;
const IP_V4 = /(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?![\w.]*\w)/g;
const IP_V6 =
  /(?<![\w:])\[?(?:[0-9a-f:]*::[0-9a-f:.]*|(?:[0-9a-f]{1,4}:){5,}[0-9a-f:.]+)(?:%\w+)?\]?(?::\d+)?(?![\w:])/gi;
/** A name without a dot, such as a host in a cluster, followed by a port. */
const WITH_PORT = /(?<![\w.-])[a-z][\w-]*:\d{2,5}(?![\w.:])/gi;
const NOT_RESOLVED = /\b(ENOTFOUND|EAI_[A-Z]+) [^\s<]+/g;

/** Removes URLs from a text. */
export const withoutUrls = (text: string): string => text.replaceAll(URLS, '<url>');

/** Removes names and addresses of hosts from a text. Rather removes a word too many than leaves a host. */
export const withoutHosts = (text: string): string =>
  [IP_V6, IP_V4, NAMES, WITH_PORT]
    .reduce((left, pattern) => left.replaceAll(pattern, '<host>'), text)
    .replaceAll(NOT_RESOLVED, '$1 <host>');
