//! The annotated function, read as far as generated code needs it.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, FnArg, GenericParam, Signature, Type, Visibility};

/// A function whose body stays raw tokens: a half-typed `event.` never keeps the attribute from
/// expanding, so an editor can go on completing.
pub(crate) struct Function {
    pub(crate) attributes: Vec<Attribute>,
    visibility: Visibility,
    pub(crate) signature: Signature,
    body: TokenStream,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Self {
            attributes: input.call(Attribute::parse_outer)?,
            visibility: input.parse()?,
            signature: input.parse()?,
            body: input.parse()?,
        })
    }
}

impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.head_to_tokens(tokens);
        self.body.to_tokens(tokens);
    }
}

impl Function {
    fn head_to_tokens(&self, tokens: &mut TokenStream) {
        self.attributes.iter().for_each(|attribute| attribute.to_tokens(tokens));
        self.visibility.to_tokens(tokens);
        self.signature.to_tokens(tokens);
    }

    /// The function with `item` in front of its body, which stays a block of its own: the item sees
    /// what the signature sees, and not what the body declares or imports.
    pub(crate) fn with_inside(&self, item: &TokenStream) -> TokenStream {
        // A body such as `{ Ok(()) }` would be called braces that are not needed.
        let mut function = quote!(#[allow(unused_braces)]);
        self.head_to_tokens(&mut function);
        let Some(body) = block(self.body.clone()) else { return function };
        let (inner_attributes, inside) = without_inner_attributes(body);
        let mut whole = Group::new(Delimiter::Brace, quote!(#inner_attributes #item #inside));
        whole.set_span(inside.span());
        whole.to_tokens(&mut function);
        function
    }

    pub(crate) fn has_body(&self) -> bool {
        self.body.to_string().starts_with('{')
    }

    /// Where a mistake of the whole function is shown.
    pub(crate) fn span(&self) -> Span {
        self.signature.ident.span()
    }

    /// The parameters that are not `self`.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = Parameter<'_>> {
        self.signature.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(typed) => {
                Some(Parameter { attributes: &typed.attrs, ty: peeled(&typed.ty) })
            }
            FnArg::Receiver(_) => None,
        })
    }

    /// The lifetimes it declares.
    pub(crate) fn lifetimes(&self) -> Vec<String> {
        let declared = self.signature.generics.params.iter().filter_map(|param| match param {
            GenericParam::Lifetime(param) => Some(param.lifetime.ident.to_string()),
            _ => None,
        });
        declared.collect()
    }
}

/// The braces themselves, where a `$body:block` of a `macro_rules!` has wrapped them.
fn block(body: TokenStream) -> Option<Group> {
    match body.into_iter().next()? {
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => block(group.stream()),
        TokenTree::Group(group) => Some(group),
        _ => None,
    }
}

/// The `#![…]` a body begins with, and the body without them. Where there are none it is the very
/// same group: its spans are those of an error that rustc has told before, and tells only once.
fn without_inner_attributes(body: Group) -> (TokenStream, Group) {
    let tokens: Vec<TokenTree> = body.stream().into_iter().collect();
    let is = |at: usize, sign| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == sign);
    let mut end = 0;
    while is(end, '#') && is(end + 1, '!') {
        end = (end + 3).min(tokens.len());
    }
    if end == 0 {
        return (TokenStream::new(), body);
    }
    let (attributes, statements) = tokens.split_at(end);
    let mut inside = Group::new(Delimiter::Brace, statements.iter().cloned().collect());
    inside.set_span(body.span());
    (attributes.iter().cloned().collect(), inside)
}

/// One parameter of the function.
#[derive(Clone, Copy)]
pub(crate) struct Parameter<'f> {
    pub(crate) attributes: &'f [Attribute],
    pub(crate) ty: &'f Type,
}

impl Parameter<'_> {
    /// The last segment of the type's path, behind any reference.
    pub(crate) fn type_name(&self) -> Option<String> {
        let Type::Path(path) = behind_references(self.ty) else { return None };
        Some(path.path.segments.last()?.ident.to_string())
    }
}

/// The type itself, where a `macro_rules!` or parentheses have wrapped it.
pub(crate) fn peeled(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Group(group) => &group.elem,
            Type::Paren(paren) => &paren.elem,
            _ => return ty,
        }
    }
}

/// The type that `&` and `&mut` lead to.
pub(crate) fn behind_references(mut ty: &Type) -> &Type {
    loop {
        ty = match peeled(ty) {
            Type::Reference(reference) => &reference.elem,
            other => return other,
        }
    }
}
