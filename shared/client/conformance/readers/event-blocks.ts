/** A block of a stream of server-sent events, which an empty line ends. */
export interface EventBlock {
  comments: number;
  /** The last value of each field; those of `data` are joined by line feeds. */
  fields: ReadonlyMap<string, string>;
}

/**
 * Yields the blocks of a stream as soon as they are complete
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation).
 */
export async function* eventBlocks(body: AsyncIterable<Uint8Array>): AsyncGenerator<EventBlock> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const piece of body) {
    text = (text + decoder.decode(piece, { stream: true })).replaceAll('\r\n', '\n');
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    yield* blocks.map(readBlock);
  }
}

const readBlock = (block: string): EventBlock => {
  const fields = new Map<string, string>();
  let comments = 0;
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (line.startsWith(':')) comments += 1;
    else fields.set(name, name === 'data' && fields.has(name) ? `${fields.get(name) ?? ''}\n${value}` : value);
  }
  return { comments, fields };
};
