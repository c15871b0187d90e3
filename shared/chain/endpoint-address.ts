import { unescape } from 'node:querystring';
import { withoutHosts, withoutUrls } from '../primitives/without-hosts.ts';

const TEXT_MAX = 300;
/** Shorter parts of a URL are treated as versions and names of networks. */
const SECRET_LENGTH_MIN = 6;

/** The address of an endpoint. All of it is secret: providers put keys into hosts, paths, queries and credentials. */
export class EndpointAddress {
  /** Without credentials: fetch refuses a URL that has some, and prints it in full. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  private readonly secrets: readonly string[];
  private readonly hostname: string;

  constructor(address: string) {
    const url = new URL(address);
    const { username, password } = url;
    this.secrets = secretParts(url);
    this.hostname = url.hostname;
    const credentials = Buffer.from([username, password].map(unescape).join(':')).toString('base64');
    this.headers = username + password === '' ? {} : { authorization: `Basic ${credentials}` };
    url.username = '';
    url.password = '';
    this.url = url.href;
  }

  /** Returns a text from elsewhere as one short line, without URLs, hosts and the secrets of this address. */
  redact(text: string): string {
    let redacted = withoutUrls(text).replaceAll(/\s+/g, ' ');
    for (const secret of this.secrets) redacted = redacted.replaceAll(secret, '<secret>');
    redacted = withoutHosts(redacted);
    if (isLong(this.hostname)) redacted = redacted.replaceAll(this.hostname, '<host>');
    return redacted.slice(0, TEXT_MAX);
  }
}

const isLong = ({ length }: string): boolean => length >= SECRET_LENGTH_MIN;

const secretParts = ({ username, password, pathname, search }: URL): string[] => {
  const parts = [username, password, ...pathname.split('/'), ...search.slice(1).split(/[&=]/)];
  const decoded = parts.flatMap((part) => [part, unescape(part)]);
  return [...new Set(decoded)].filter(isLong);
};
