const STEPS_MAX = 20;
const FORM = /<form[^>]*action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/i;
const HIDDEN = /<input type="hidden" name="([^"]+)" value="([^"]*)"/gi;

/** Imitates a person in a browser, over HTTP: follows redirects, keeps cookies, and fills in forms. */
export class Browser {
  private readonly cookies = new Map<string, string>();

  /** Returns the URL, beginning with `end`, to which the site finally sends the browser. */
  async logIn(url: string, fields: Record<string, string>, end: string): Promise<URL> {
    let next: { url: URL; form?: URLSearchParams } = { url: new URL(url) };
    for (let step = 0; step < STEPS_MAX; step += 1) {
      if (next.url.href.startsWith(end)) return next.url;
      const answer = await this.open(next);
      const location = answer.headers.get('location');
      if (location !== null) next = { url: new URL(location, next.url) };
      else next = this.fillIn(next.url, await answer.text(), fields);
    }
    throw new Error(`the browser did not come to ${end}, but to ${next.url.href}`);
  }

  private async open({ url, form }: { url: URL; form?: URLSearchParams }): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(url, {
      redirect: 'manual',
      headers: { cookie },
      ...(form && { method: 'POST', body: form }),
    });
    for (const set of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return answer;
  }

  private fillIn(at: URL, page: string, fields: Record<string, string>) {
    const [, action, inner = ''] = FORM.exec(page) ?? [];
    if (action === undefined) throw new Error(`no form at ${at.href}: ${page.slice(0, 500)}`);
    const hidden = [...inner.matchAll(HIDDEN)].map(([, name = '', value = '']) => [name, value]);
    return { url: new URL(action, at), form: new URLSearchParams([...hidden, ...Object.entries(fields)]) };
  }
}
