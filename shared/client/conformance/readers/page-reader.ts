import { isObject, type Json } from '../json-value.ts';
import { stateOf, type Message, type Reader } from './reader.ts';

const WAIT_S = 10;

/** A client of the pages that asks for each next one, and keeps all items. */
export class PageReader implements Reader {
  readonly messages: Message[] = [];
  ended: string | undefined;
  private cursor: Json = null;
  private readonly leaving = new AbortController();

  private constructor(private readonly ask: (query: Record<string, Json>, signal: AbortSignal) => Promise<Json>) {}

  /** @param ask answers `{status, body}` of a page @returns when the first page came, with its answer */
  static async open(
    ask: (query: Record<string, Json>, signal: AbortSignal) => Promise<Json>,
    query: Record<string, Json>,
  ): Promise<{ reader: PageReader; answer: Json }> {
    const reader = new PageReader(ask);
    const answer = await ask(query, reader.leaving.signal);
    if (reader.take(answer)) void reader.follow(query);
    return { reader, answer };
  }

  state(): Json {
    return stateOf(this.messages, { cursor: this.cursor, ended: this.ended ?? null });
  }

  close(): void {
    this.ended ??= 'closed';
    this.leaving.abort();
  }

  private async follow({ fromBlock: _, ...query }: Record<string, Json>): Promise<void> {
    try {
      let goesOn = true;
      while (goesOn && !this.leaving.signal.aborted)
        goesOn = this.take(await this.ask({ ...query, cursor: this.cursor, wait: WAIT_S }, this.leaving.signal));
    } catch (error) {
      this.ended ??= String(error);
    }
  }

  private take(answer: Json): boolean {
    const { status, body } = isObject(answer) ? answer : {};
    if (status !== 200 || !isObject(body) || !Array.isArray(body['items']) || this.leaving.signal.aborted) {
      this.ended ??= `a page was answered ${JSON.stringify(answer)}`;
      return false;
    }
    for (const payload of body['items']) this.messages.push({ name: 'event', payload });
    if (body['gap']) this.messages.push({ name: 'gap', payload: body['gap'] });
    if (body['live'] === true && !this.messages.some(({ name }) => name === 'live'))
      this.messages.push({ name: 'live', payload: { cursor: body['cursor'] ?? null } });
    this.cursor = body['cursor'] ?? null;
    return true;
  }
}
