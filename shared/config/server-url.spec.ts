import { describe, expect, it } from '@jest/globals';
import { readServerUrl } from './server-url.ts';

describe('the URL of a server', () => {
  it('has a scheme and hosts, and may have a user, a password and options', () => {
    expect(readServerUrl('mongodb://a')).toEqual({
      scheme: 'mongodb',
      username: '',
      password: '',
      hosts: ['a'],
      options: [],
    });
    expect(readServerUrl('MongoDB+srv://ada:p%40ss@a.example:1,b_2:65535,[::1]:3/events?W=1&w=majority&x')).toEqual({
      scheme: 'mongodb+srv',
      username: 'ada',
      password: 'p@ss',
      hosts: ['a.example:1', 'b_2:65535', '[::1]:3'],
      options: [
        ['w', '1'],
        ['w', 'majority'],
        ['x', ''],
      ],
    });
    expect(readServerUrl('esdb://ada@a?tls=true')).toMatchObject({ username: 'ada', password: '', hosts: ['a'] });
    expect(readServerUrl('esdb://127.0.0.1:2113/')).toMatchObject({ hosts: ['127.0.0.1:2113'] });
  });

  it.each([
    '',
    'a:1',
    '1db://a',
    ' mongodb://a',
    'mongodb:/a',
    'mongodb://',
    'mongodb://a,,b',
    'mongodb://a b',
    'mongodb://a/?w=1#end',
    'mongodb://a:65536',
    'mongodb://a:100000',
    'mongodb://a:b',
    'mongodb://[::1',
    'mongodb://[xyz]:1',
    'mongodb://ada:p/ss@a',
    'mongodb://ada:%zz@a',
    'mongodb://%zz:p@a',
  ])('cannot be %j', (text) => {
    expect(readServerUrl(text)).toBeUndefined();
  });
});
