import { unescape } from 'node:querystring';
import { withoutHosts, withoutUrls } from '../../../primitives/text/without-hosts.ts';

const TEXT_MAX = 300;
/** Shorter parts of a URL are taken for versions and names of networks. */
const SECRET_LENGTH_MIN = 6;

/** The address of an endpoint. All of it is secret: providers put keys into hosts, paths, queries and credentials. */
export class EndpointAddress {
  /** Without credentials: fetch refuses a URL that has some, and prints it in full. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  private readonly secrets: readonly RegExp[];
  private readonly hostname: string;

  constructor(address: string) {
    const url = new URL(address);
    const { username, password } = url;
    this.hostname = url.hostname;
    const credentials = Buffer.from([username, password].map(unescape).join(':')).toString('base64');
    this.secrets = secretTexts(url, credentials.replace(/=+$/, '')).map(inAnyCase);
    this.headers = username + password === '' ? {} : { authorization: `Basic ${credentials}` };
    url.username = '';
    url.password = '';
    this.url = url.href;
  }

  /** Returns a foreign text as one short line, without URLs, hosts and the secrets of this address. */
  redact(text: string): string {
    let redacted = withoutUrls(text).replaceAll(/\s+/g, ' ');
    for (const secret of this.secrets) redacted = redacted.replaceAll(secret, '<secret>');
    redacted = withoutHosts(redacted);
    if (isLong(this.hostname)) redacted = redacted.replaceAll(inAnyCase(this.hostname), '<host>');
    return redacted.slice(0, TEXT_MAX);
  }
}

const isLong = ({ length }: string): boolean => length >= SECRET_LENGTH_MIN;

/** Providers echo a secret in capitals, or escaped in lower case. */
const inAnyCase = (text: string): RegExp => new RegExp(RegExp.escape(text), 'gi');

/** @returns the longest first, because a shorter text may be part of a longer one */
const secretTexts = ({ username, password, pathname, search }: URL, credentials: string): string[] => {
  const parts = [username, password, credentials, ...pathname.split('/'), ...search.slice(1).split(/[&=]/)];
  const decoded = parts.flatMap((part) => [part, unescape(part)]);
  return [...new Set(decoded)].filter(isLong).sort((left, right) => right.length - left.length);
};
