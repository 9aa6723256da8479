import * as z from 'zod';
import { operation } from '../operation.ts';

const example = 'npx://@modelcontextprotocol/server-everything@2026.7.4';

const source = z
  .string()
  .max(512)
  .meta({
    description: 'A package URL with the scheme npx://, uvx://, or go://.',
    examples: [example],
  });

const Recipe = z
  .object({ dockerfile: z.string() })
  .meta({ id: 'Recipe', description: 'The Dockerfile for a package.' });

const BuiltImage = z
  .object({ image: z.string().meta({ description: 'The image name in the container engine.' }) })
  .meta({ id: 'BuiltImage', description: 'An image that contains a package.' });

export const imageOperations = {
  writeRecipe: operation({
    method: 'POST',
    path: '/images/recipe',
    tag: 'images',
    access: 'read',
    command: ['build', '--dry-run'],
    summary: 'Get the Dockerfile for a package',
    description:
      'Returns the Dockerfile that a build would use. ToolHive builds nothing and requires no container engine.',
    body: z.object({ source }).meta({ id: 'RecipeRequest', examples: [{ source: example }] }),
    success: { status: 200, description: 'The Dockerfile.', body: Recipe },
    failures: ['unavailable'],
  }),
  buildImage: operation({
    method: 'POST',
    path: '/images',
    tag: 'images',
    access: 'write',
    command: ['build', '--tag'],
    summary: 'Build a container image for a package',
    body: z
      .object({
        source,
        tag: z
          .string()
          .min(1)
          .max(512)
          .optional()
          .meta({ description: 'The image name. By default, ToolHive generates a name.' }),
      })
      .meta({ id: 'BuildRequest', examples: [{ source: example, tag: 'everything:1' }] }),
    success: { status: 201, description: 'The image is built.', body: BuiltImage },
    progress: true,
    failures: ['not-found', 'unavailable'],
  }),
};
